// Included before the C source of the tree-sitter library, which formats a log and graphs of the parser that no browser
// shows. Without the formatting the modules are smaller.
#if __has_include("wasm-stdlib/stdio.c")
// The library's own libc, which it would include last.
#include "wasm-stdlib/libc.c"
#include "wasm-stdlib/stdio.c"
#undef TREE_SITTER_WASM_STDLIB
#define snprintf(...) 0
#define fprintf(...) 0
#define fputs(...) 0
#define fputc(...) 0
#endif
