// The playground's editor as a person uses it. No server and no browser are started here.

const CONTENT = '.cm-content';

export const editor = (page) => page.locator(CONTENT);

/** What stands in the editor. */
export const code = (page) =>
  page.evaluate((content) => {
    const element = document.querySelector(content);
    return (element.cmTile ?? element.cmView).view.state.doc.toString();
  }, CONTENT);

/** Puts text in the place of what stands there, as a paste does. */
export async function paste(page, text) {
  await editor(page).click();
  await page.keyboard.press('Control+A');
  await editor(page).evaluate((element, text) => {
    const data = new DataTransfer();
    data.setData('text/plain', text);
    element.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }));
  }, text);
}
