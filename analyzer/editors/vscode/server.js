// The command of the language server, from the extension's settings.

/**
 * @param {(name: string) => string | undefined} setting a value under `hipward.`
 * @returns {{ command: string, args: string[] }}
 */
exports.serverCommand = (setting) => {
  const args = ['lsp'];
  if (setting('rules')) args.push('--rules', setting('rules'));
  if (setting('site')) args.push('--site', setting('site'));
  return { command: setting('path') || 'hipward', args };
};

/** The languages of Visual Studio Code that the server supports. */
exports.languages = [
  'python',
  'cpp',
  'c',
  'cuda-cpp',
  'dockerfile',
  'cmake',
  'makefile',
  'markdown',
  'restructuredtext',
  'shellscript',
  'yaml',
  'toml',
  'pip-requirements',
];
