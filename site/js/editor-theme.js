// The editor in the site's colours: everything is a variable of css/, so that it follows the theme.

import { HighlightStyle } from "@codemirror/language";
import { EditorView } from "@codemirror/view";
import { tags } from "@lezer/highlight";

export const frame = EditorView.theme({
  "&": {
    backgroundColor: "var(--surface)",
    color: "var(--text)",
    border: "1px solid var(--edge)",
    borderRadius: "var(--radius)",
    fontSize: "0.875rem",
    height: "min(70vh, 40rem)",
  },
  "&.cm-focused": { outline: "2px solid var(--focus)", outlineOffset: "1px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.5" },
  ".cm-gutters": {
    backgroundColor: "var(--surface)",
    color: "var(--muted)",
    borderRight: "1px solid var(--edge)",
  },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--hover)" },
  ".cm-line.cm-changed": { backgroundColor: "var(--good-back)", boxShadow: "inset 3px 0 var(--good)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "var(--selection)",
  },
  ".cm-tooltip, .cm-panels": {
    backgroundColor: "var(--raised)",
    color: "var(--text)",
    border: "1px solid var(--edge)",
  },
  ".cm-tooltip": { maxWidth: "min(36rem, 90vw)" },
  ".cm-diagnostic": { whiteSpace: "pre-wrap" },
  ".cm-diagnosticAction": {
    backgroundColor: "var(--accent)",
    color: "var(--on-accent)",
    borderRadius: "4px",
    padding: "2px 8px",
  },
  ".cm-diagnosticSource": { color: "var(--muted)", opacity: "1" },
});

export const colors = HighlightStyle.define([
  { tag: tags.comment, color: "var(--h-comment)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--h-string)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--h-number)" },
  { tag: [tags.keyword, tags.operatorKeyword, tags.self], color: "var(--h-keyword)" },
  { tag: [tags.function(tags.variableName), tags.definition(tags.variableName)], color: "var(--h-name)" },
  { tag: [tags.className, tags.function(tags.propertyName)], color: "var(--h-name)" },
  { tag: tags.meta, color: "var(--h-builtin)" },
]);
