//! Two texts in one column: what went, what came, and a little around it. Drawn the same on a
//! lesson's page and in the playground.

use crate::html::Html;
use hipward_analyzer_core::{DiffKind, DiffLine};

/// A diff as a table: line numbers before and after, a sign, the line.
pub(crate) fn diff_table(caption: &str, lines: &[DiffLine]) -> Html {
    let mut html = Html::new();
    html.raw("<div class=\"scroll diff\" tabindex=\"0\" role=\"group\" aria-label=\"")
        .text(caption)
        .raw("\"><table><caption>")
        .text(caption)
        .raw(
            "</caption><thead class=\"visually-hidden\"><tr><th scope=\"col\">Line before</th>\
             <th scope=\"col\">Line after</th><th scope=\"col\">Change</th><th scope=\"col\">Text</th>\
             </tr></thead><tbody>",
        );
    for line in lines {
        row(&mut html, line);
    }
    html.raw("</tbody></table></div>\n");
    html
}

fn row(html: &mut Html, line: &DiffLine) {
    html.raw(match line.kind {
        DiffKind::Equal => "<tr>",
        DiffKind::Removed => "<tr class=\"removed\">",
        DiffKind::Added => "<tr class=\"added\">",
        DiffKind::Gap => "<tr class=\"gap\">",
    });
    for number in [line.old, line.new] {
        html.raw("<td class=\"line\">");
        if let Some(number) = number {
            html.number(number as usize);
        }
        html.raw("</td>");
    }
    html.raw(match line.kind {
        DiffKind::Equal => "<td></td>",
        DiffKind::Removed => SIGN_REMOVED,
        DiffKind::Added => SIGN_ADDED,
        DiffKind::Gap => SIGN_GAP,
    })
    .raw("<td><code>")
    .text(&line.text)
    .raw("</code></td></tr>\n");
}

// The sign is for eyes, the word for ears.
const SIGN_REMOVED: &str = "<td class=\"sign\"><span aria-hidden=\"true\">−</span><span class=\"visually-hidden\">Removed</span></td>";
const SIGN_ADDED: &str = "<td class=\"sign\"><span aria-hidden=\"true\">+</span><span class=\"visually-hidden\">Added</span></td>";
const SIGN_GAP: &str = "<td class=\"sign\"><span aria-hidden=\"true\">⋯</span><span class=\"visually-hidden\">Lines left out</span></td>";
