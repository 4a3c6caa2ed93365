// Which Python the small module reads in full: what has no Triton in it, and no CUDA C++ in its strings (for CuPy or
// load_inline). Nothing is parsed here; a source that only mentions them is read by the second module as well.

export const isPlainPython = (source) => !/triton|__(global|device)__/.test(source);
