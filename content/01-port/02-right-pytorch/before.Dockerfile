FROM nvidia/cuda:12.6.3-devel-ubuntu24.04
RUN apt-get update && apt-get install -y python3-pip libnccl2
COPY requirements.txt .
RUN pip install -r requirements.txt
# docker run --gpus all train
