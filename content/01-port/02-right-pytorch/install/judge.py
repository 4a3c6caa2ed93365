"""The requirements are installed by a stand-in for pip, which has the indexes as tables. Versions are examples."""

import re

from hipward_kernels.exercise import expect

# package: {version: (folder that it writes, packages that it requires)}
PYPI = {
    "numpy": {"2.4.6": ("numpy", [])},
    "triton": {"3.4.0": ("triton", []), "3.6.0": ("triton", [])},
    "onnxruntime-gpu": {"1.23.0": ("onnxruntime", [])},
    "onnxruntime-migraphx": {"1.23.0": ("onnxruntime", [])},
    "nvidia-cublas-cu12": {"12.6.4.1": ("nvidia/cublas", [])},
}
INDEXES = {
    "cu126": {"torch": {"2.12.0+cu126": ("torch", ["nvidia-cublas-cu12", "triton==3.6.0"])}},
    "rocm7.2": {
        "torch": {"2.12.0+rocm7.2": ("torch", ["triton-rocm==3.6.0"])},
        "triton-rocm": {"3.6.0": ("triton", [])},
    },
}


class NotFoundError(Exception):
    pass


def install(requirements, index):
    """The installed packages, {folder: (package, version)}; of two in one folder, the later one."""
    found = re.search(r"/whl/([a-z0-9.]+)", index)
    expect(found and found[1] in INDEXES, f"the stand-in has no index {index}")
    packages = PYPI | INDEXES[found[1]]
    folders, chosen = {}, {}
    # Requirements of the packages come first, as pip installs what others need before them.
    queue = []
    for requirement in requirements:
        name, wanted = (part.strip() for part in (*requirement.split("=="), "")[:2])
        queue.append((name, wanted))
    ordered = []

    def add(name, wanted):
        versions = packages.get(name, {})
        fitting = [v for v in versions if not wanted or wanted in (v, v.split("+")[0])]
        if not fitting:
            raise NotFoundError(f"pip: no version of {name} fits {wanted or 'any'} in {found[1]}")
        version = fitting[-1]
        folder, needs = versions[version]
        for need in needs:
            add(*(part for part in (*need.split("=="), "")[:2]))
        if name not in chosen:
            chosen[name] = version
            ordered.append((folder, name, version))

    for name, wanted in sorted(queue, key=lambda each: each[0] != "torch"):
        add(name, wanted)
    for folder, name, version in ordered:
        folders[folder] = (name, version)
    return folders


def case_torch(answer, random):
    """The ROCm build of torch 2.12.0 is installed"""
    got = install(answer.REQUIREMENTS, answer.INDEX).get("torch")
    expected = ("torch", "2.12.0+rocm7.2")
    expect(got == expected, f"installed: {got}, expected: {expected}")


def case_triton(answer, random):
    """The folder `triton` belongs to the package that torch requires"""
    got = install(answer.REQUIREMENTS, answer.INDEX).get("triton")
    expected = ("triton-rocm", "3.6.0")
    expect(got == expected, f"the folder belongs to {got}, expected {expected}")


def case_rest(answer, random):
    """NumPy and ONNX Runtime are there, and nothing for NVIDIA GPUs is"""
    folders = install(answer.REQUIREMENTS, answer.INDEX)
    names = sorted(name for name, _ in folders.values())
    for name in ("numpy", "onnxruntime-migraphx"):
        expect(name in names, f"{name} is not installed; installed: {', '.join(names)}")
    nvidia = [name for name in names if name.startswith("nvidia-") or name == "onnxruntime-gpu"]
    expect(not nvidia, f"for NVIDIA GPUs only: {', '.join(nvidia)}")


def case_devices(answer, random):
    """The container gets the AMD devices and a group that may use them"""
    words = [part for word in answer.DOCKER_RUN for part in word.split("=", 1)]
    for device in ("/dev/kfd", "/dev/dri"):
        expect(device in words, f"{device} is not passed to the container")
    expect({"video", "render"} & set(words), "the container's user is in neither video nor render")
    expect("--gpus" not in words, "--gpus needs NVIDIA's container toolkit")


def case_check(answer, random):
    """A job starts only with a ROCm build that finds a GPU, and names three different faults"""
    hip, cuda = f"7.{random.randint(0, 9)}.1", f"12.{random.randint(0, 9)}"
    got = answer.build_error(hip, None, True)
    expect(got is None, f"a ROCm build with a GPU: got {got!r}, expected None")
    faults = {
        "a CUDA build with a GPU": answer.build_error(None, cuda, True),
        "a build for the CPU": answer.build_error(None, None, False),
        "a ROCm build without a GPU": answer.build_error(hip, None, False),
    }
    for name, message in faults.items():
        expect(isinstance(message, str) and message, f"{name}: got {message!r}, expected a message")
    expect(len(set(faults.values())) == 3, f"the messages do not differ: {faults}")
