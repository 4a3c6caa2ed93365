// Pages of `hipward serve --content`: shows when the content was loaded, and reloads the page when it has changed.

const script = document.currentScript;
const { version } = script.dataset;

addEventListener('DOMContentLoaded', () => {
  const status = document.createElement('p');
  status.setAttribute('role', 'status');
  status.dataset.contentLoaded = '';
  status.textContent = `Content loaded at ${new Date(Number(version)).toLocaleTimeString()}`;
  Object.assign(status.style, {
    position: 'fixed',
    right: '0.5rem',
    bottom: '0.5rem',
    margin: '0',
    padding: '0.1rem 0.6rem',
    border: '1px solid',
    borderRadius: '0.3rem',
    background: 'Canvas',
    color: 'CanvasText',
    fontSize: '0.8rem',
  });
  document.body.append(status);
});

// The browser reconnects by itself when the server restarts; the version then differs too.
new EventSource(script.src.replace(/\.js$/, '')).addEventListener('message', ({ data }) => {
  if (data !== version) location.reload();
});
