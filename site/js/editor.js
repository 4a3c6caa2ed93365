// The editor: CodeMirror in the place of the page's text area, which stays in the page, hidden, and is shown again by
// remove(). Loaded once the text area can be used.

import { defaultKeymap, history, historyKeymap, indentWithTab, isolateHistory, undo } from "@codemirror/commands";
import { cpp, cppLanguage } from "@codemirror/lang-cpp";
import { python, pythonLanguage } from "@codemirror/lang-python";
import { bracketMatching, forceParsing, indentOnInput, indentUnit, LanguageSupport, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { Compartment, EditorState, StateEffect, StateField } from "@codemirror/state";
import { Decoration, drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { colors, frame } from "./editor-theme.js";
import { inlineCode } from "./inline-code.js";

export function mount(textarea, onChange, onFix) {
  // True while the page changes the text: such a change is not reported to it.
  let quiet = false;
  const syntax = new Compartment();
  const steps = new Compartment();
  let language = "python";
  // The reader may be typing in the text area.
  const hasFocus = document.activeElement === textarea;
  const { selectionStart: anchor, selectionEnd: head } = textarea;
  const view = new EditorView({
    state: EditorState.create({
      doc: textarea.value,
      selection: hasFocus ? { anchor, head } : undefined,
      extensions: [
        lineNumbers(),
        lintGutter(),
        steps.of(history()),
        drawSelection(),
        changedLines,
        highlightActiveLine(),
        bracketMatching(),
        indentOnInput(),
        indentUnit.of("    "),
        highlightSelectionMatches(),
        syntax.of(highlighting.python()),
        EditorState.transactionExtender.of((transaction) =>
          isLong(transaction) ? { effects: syntax.reconfigure(highlighting[language]?.() ?? []) } : null,
        ),
        syntaxHighlighting(colors),
        frame,
        keymap.of([...defaultKeymap, ...historyKeymap, ...searchKeymap, ...lintKeymap, indentWithTab]),
        EditorView.contentAttributes.of({
          "aria-label": textarea.labels[0]?.textContent.trim() ?? "Code",
          // For tools that do not know contenteditable.
          tabindex: "0",
          "aria-describedby": textarea.getAttribute("aria-describedby") ?? "",
        }),
      ],
    }),
    dispatchTransactions(transactions, view) {
      const last = transactions.at(-1);
      const report = () => {
        if (!quiet && transactions.some(({ docChanged }) => docChanged)) onChange(last.newDoc.toString());
      };
      // The analyzer reads a long paste while the editor draws it. A character is drawn first.
      if (isLong(last)) {
        report();
        view.update(transactions);
        idle(() => forceParsing(view, view.viewport.to, 50));
      } else {
        view.update(transactions);
        report();
      }
    },
  });
  textarea.hidden = true;
  textarea.after(view.dom);
  if (hasFocus) {
    view.focus();
    view.dispatch({ effects: EditorView.scrollIntoView(head) });
  }

  // Whether a fix was applied whose report has not arrived yet.
  let hasApplied = false;
  const show = () => view.dom.scrollIntoView({ block: "nearest" });

  function setLanguage(wanted) {
    if (wanted === language) return;
    language = wanted;
    view.dispatch({ effects: syntax.reconfigure(highlighting[language]?.() ?? []) });
  }

  return {
    text: () => view.state.doc.toString(),
    setText(text) {
      if (text === view.state.doc.toString()) return;
      quiet = true;
      view.dispatch({ changes: difference(view.state.doc.toString(), text) });
      quiet = false;
    },
    // Highlights the text as a language of the analyzer.
    setLanguage,
    setReport(report) {
      setLanguage(report.language);
      const placed = report.findings.flatMap(diagnostic(view.state.doc.length, onFix));
      view.dispatch(setDiagnostics(view.state, placed));
      // A shorter list of findings moves the editor, which stays beside it.
      if (hasApplied) requestAnimationFrame(show);
      hasApplied = false;
    },
    select(from, to) {
      const { length } = view.state.doc;
      const selection = { anchor: Math.min(from, length), head: Math.min(to, length) };
      view.dispatch({ selection, effects: EditorView.scrollIntoView(selection.anchor, { y: "center" }) });
      view.focus();
    },
    // Replaces the text as one step of the history, marks the lines (from 1) and scrolls to the first.
    applyFix(text, lines) {
      const changes = difference(view.state.doc.toString(), text);
      quiet = true;
      view.dispatch({ changes, annotations: isolateHistory.of("full") });
      quiet = false;
      const { doc } = view.state;
      const starts = [...lines].filter((line) => line <= doc.lines).map((line) => doc.line(line).from);
      const place = Math.min(starts[0] ?? changes.from, doc.length);
      view.dispatch({ effects: [markLines.of(starts), EditorView.scrollIntoView(place, { y: "center" })] });
      show();
      hasApplied = true;
    },
    undo: () => undo(view),
    clearHistory() {
      view.dispatch({ effects: steps.reconfigure([]) });
      view.dispatch({ effects: steps.reconfigure(history()) });
    },
    remove() {
      view.destroy();
      textarea.hidden = false;
    },
  };
}

// The lines that a fix changed, until the text changes again.
const markLines = StateEffect.define();
const changedLine = Decoration.line({ class: "cm-changed" });
const changedLines = StateField.define({
  create: () => Decoration.none,
  update(lines, { docChanged, effects }) {
    for (const effect of effects) {
      if (effect.is(markLines)) return Decoration.set(effect.value.map((start) => changedLine.range(start)));
    }
    return docChanged ? Decoration.none : lines;
  },
  provide: (field) => EditorView.decorations.from(field),
});

// Other languages are shown as they are. Each call returns a new language, for which the editor parses the first lines only.
const fresh = (language, { support }) => new LanguageSupport(language.configure({}), support);
const highlighting = { python: () => fresh(pythonLanguage, python()), "cuda-cpp": () => fresh(cppLanguage, cpp()) };

// Whether a transaction is a paste that takes the editor milliseconds to parse. Its colours follow when the browser is idle.
const isLong = (transaction) => transaction.isUserEvent("input.paste") && inserted(transaction) > 10_000;

function inserted({ changes }) {
  let characters = 0;
  changes.iterChanges((_from, _to, start, end) => (characters += end - start));
  return characters;
}

// Safari has no idle callbacks.
const idle = globalThis.requestIdleCallback ?? setTimeout;

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
