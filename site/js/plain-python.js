// Whether the small module analyzes a Python source in full: it has no Triton, no CUDA C++ in its strings (for CuPy or
// load_inline), and no packages or GPUs that a setup.py, a container image or a pod requests. This is a text search; a
// source that only mentions them is analyzed by the second module as well.

export const isPlainPython = (source) =>
  !/triton|__(global|device)__|(install|setup)_requires|(extras|tests)_require|pip_install|nvidia\.com\/gpu/.test(source);
