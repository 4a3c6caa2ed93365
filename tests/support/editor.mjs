// The code editor of a page. No server and no browser are started here.

const CONTENT = '.cm-content';

export const editor = (page) => page.locator(CONTENT);

/** Waits for the editor. The page loads it when the pointer moves, which it does until then: the page may not listen yet. */
export async function showEditor(page) {
  const end = performance.now() + 30_000;
  for (let at = 0; performance.now() < end && !(await editor(page).isVisible()); at += 1) {
    await page.mouse.move(1 + (at % 2), 1);
    await page.waitForTimeout(50);
  }
  await editor(page).waitFor({ timeout: 1000 });
}

/** The text in the editor. */
export const code = (page) =>
  page.evaluate((content) => {
    const element = document.querySelector(content);
    return (element.cmTile ?? element.cmView).view.state.doc.toString();
  }, CONTENT);

/** Replaces the text by a paste. */
export async function paste(page, text) {
  await showEditor(page);
  await editor(page).click();
  await page.keyboard.press('Control+A');
  await editor(page).evaluate((element, text) => {
    const data = new DataTransfer();
    data.setData('text/plain', text);
    element.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }));
  }, text);
}
