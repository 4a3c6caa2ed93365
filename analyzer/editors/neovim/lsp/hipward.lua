-- The configuration of the language server `hipward lsp`. Neovim 0.11 and later finds it by its name.
return {
  cmd = { "hipward", "lsp" },
  -- `text` are requirements files, for versions of Neovim without the file type `requirements`.
  filetypes = { "python", "cuda", "cpp", "c", "dockerfile", "cmake", "make", "markdown", "rst", "sh", "yaml", "toml", "requirements", "text" },
  root_markers = { "hipward.toml", "pyproject.toml", ".git" },
}
