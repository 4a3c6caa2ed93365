// The Visual Studio Code extension: starts `hipward lsp`, and restarts it when its settings change.

const { commands, window, workspace } = require('vscode');
const { LanguageClient, TransportKind } = require('vscode-languageclient/node');
const { languages, serverCommand } = require('./server.js');

let client;

async function start() {
  const settings = workspace.getConfiguration('hipward');
  const { command, args } = serverCommand((name) => settings.get(name));
  client = new LanguageClient(
    'hipward',
    'Hipward',
    { command, args, transport: TransportKind.stdio },
    { documentSelector: languages.map((language) => ({ language, scheme: 'file' })) },
  );
  try {
    await client.start();
  } catch (error) {
    client = undefined;
    const open = 'Open settings';
    const message = `Hipward: \`${command} lsp\` could not be started: ${error.message}. Install it with \`pip install hipward\`, or set hipward.path.`;
    if ((await window.showErrorMessage(message, open)) === open) {
      await commands.executeCommand('workbench.action.openSettings', 'hipward.path');
    }
  }
}

async function stop() {
  const running = client;
  client = undefined;
  await running?.stop();
}

async function restart() {
  await stop();
  await start();
}

exports.activate = async (context) => {
  context.subscriptions.push(
    commands.registerCommand('hipward.restart', restart),
    workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration('hipward')) restart();
    }),
  );
  await start();
};

exports.deactivate = stop;
