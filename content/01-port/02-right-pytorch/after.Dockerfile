FROM rocm/dev-ubuntu-24.04:7.2-complete
RUN apt-get update && apt-get install -y python3-venv && python3 -m venv /venv
ENV PATH=/venv/bin:$PATH
COPY requirements.txt .
RUN pip install -r requirements.txt
# docker run --device=/dev/kfd --device=/dev/dri --group-add=video train
