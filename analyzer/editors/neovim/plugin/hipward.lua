-- Starts the language server `hipward lsp` for files that the analyzer can read.

if vim.lsp.enable then
  vim.lsp.enable("hipward")
  return
end

-- Neovim 0.7 to 0.10. One server is enough for all projects, because it finds the configuration of each file itself.
local folder = vim.fn.fnamemodify(debug.getinfo(1, "S").source:sub(2), ":p:h:h")
local config = dofile(folder .. "/lsp/hipward.lua")
local client

local function start()
  return vim.lsp.start_client({
    name = "hipward",
    cmd = config.cmd,
    root_dir = vim.fn.getcwd(),
    on_exit = function()
      client = nil
    end,
  })
end

vim.api.nvim_create_autocmd("FileType", {
  pattern = config.filetypes,
  callback = function(event)
    client = client or start()
    if client then
      vim.lsp.buf_attach_client(event.buf, client)
    end
  end,
})
