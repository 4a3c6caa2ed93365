// The editor: CodeMirror over the page's textarea, which stays in the page, hidden, and takes over
// again on remove(). Used by workspace.js.

import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { cpp } from "@codemirror/lang-cpp";
import { python } from "@codemirror/lang-python";
import { bracketMatching, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { Compartment, EditorState } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { colors, frame } from "./editor-theme.js";
import { inlineCode } from "./inline-code.js";

export function mount(textarea, onChange, onFix) {
  // True while the page changes the text: such a change is not reported to it.
  let quiet = false;
  const syntax = new Compartment();
  let language = "python";
  const view = new EditorView({
    state: EditorState.create({
      doc: textarea.value,
      extensions: [
        lineNumbers(),
        lintGutter(),
        history(),
        drawSelection(),
        highlightActiveLine(),
        bracketMatching(),
        indentOnInput(),
        indentUnit.of("    "),
        highlightSelectionMatches(),
        syntax.of(python()),
        syntaxHighlighting(colors),
        frame,
        keymap.of([...defaultKeymap, ...historyKeymap, ...searchKeymap, ...lintKeymap, indentWithTab]),
        EditorView.contentAttributes.of({
          "aria-label": "Code to check",
          // Reachable by Tab in any case; said aloud for tools that do not know contenteditable.
          tabindex: "0",
          "aria-describedby": textarea.getAttribute("aria-describedby") ?? "",
        }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged && !quiet) onChange(update.state.doc.toString());
        }),
      ],
    }),
  });
  textarea.hidden = true;
  textarea.after(view.dom);

  return {
    text: () => view.state.doc.toString(),
    setText(text) {
      if (text === view.state.doc.toString()) return;
      quiet = true;
      view.dispatch({ changes: difference(view.state.doc.toString(), text) });
      quiet = false;
    },
    setReport(report) {
      if (report.language !== language) {
        language = report.language;
        view.dispatch({ effects: syntax.reconfigure(highlighting[language]?.() ?? []) });
      }
      const placed = report.findings.flatMap(diagnostic(view.state.doc.length, onFix));
      view.dispatch(setDiagnostics(view.state, placed));
    },
    select(from, to) {
      const { length } = view.state.doc;
      const selection = { anchor: Math.min(from, length), head: Math.min(to, length) };
      view.dispatch({ selection, effects: EditorView.scrollIntoView(selection.anchor, { y: "center" }) });
      view.focus();
    },
    remove() {
      view.destroy();
      textarea.hidden = false;
    },
  };
}

// Other languages are shown as they are.
const highlighting = { python, "cuda-cpp": cpp };

// A finding as the lint extension wants it; one that no longer fits the text is left out.
function diagnostic(length, onFix) {
  const severities = { error: "error", warning: "warning", advice: "info", info: "hint" };
  return ({ id, rule, severity, message, span, fix }, index) => {
    const [from, to] = [span.start.utf16, span.end.utf16];
    if (to > length) return [];
    const actions =
      fix && fix.edits.length > 0 ? [{ name: fix.title.replaceAll("`", ""), apply: () => onFix(index) }] : [];
    const renderMessage = () => {
      const shown = document.createElement("span");
      inlineCode(shown, message);
      return shown;
    };
    return [{ from, to, severity: severities[severity], source: `${id} ${rule}`, message, renderMessage, actions }];
  };
}

// The smallest single change from one text to the other, so that caret and history survive.
function difference(before, after) {
  let from = 0;
  const shorter = Math.min(before.length, after.length);
  while (from < shorter && before[from] === after[from]) from++;
  let end = 0;
  while (end < shorter - from && before.at(-1 - end) === after.at(-1 - end)) end++;
  return { from, to: before.length - end, insert: after.slice(from, after.length - end) };
}
