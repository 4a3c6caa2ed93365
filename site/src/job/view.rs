//! Everything on a job's page that changes while it runs.

use super::conditions::conditions;
use super::floor::floor;
use super::format::number;
use super::plot::plot;
use super::status::{sentence, state_word};
use super::table::table;
use crate::html::Html;
use crate::regions::Region;
use hipward_protocol::{JobView, LogStream};

/// The regions of the page, in order.
pub(crate) fn regions(view: &JobView) -> Vec<Region> {
    [
        ("state", state(view)),
        ("cancel", cancel(view)),
        ("failure", failure(view)),
        ("variants", table(view)),
        ("floor", floor(view)),
        ("plot", plot(view)),
        ("statistics", statistics(view)),
        ("conditions", conditions_list(view)),
        ("output", output(view)),
    ]
    .into_iter()
    .map(|(name, html)| Region { name, html })
    .collect()
}

/// Spoken when it changes (see `regions::render`), so it does not change with every sample.
fn state(view: &JobView) -> Html {
    let mut html = Html::new();
    html.raw("<p class=\"job-state\"><strong class=\"badge\" data-state=\"")
        .text(state_word(view.state))
        .raw("\">")
        .text(state_word(view.state))
        .raw("</strong> ")
        .prose(&sentence(view))
        .raw("</p>");
    html
}

fn cancel(view: &JobView) -> Html {
    let mut html = Html::new();
    if !view.state.is_final() {
        html.raw("<p class=\"needs-js\"><button type=\"button\" id=\"cancel\" data-cancel>Cancel this job</button></p>");
    }
    html
}

fn failure(view: &JobView) -> Html {
    let mut html = Html::new();
    let Some(failure) = &view.failure else {
        return html;
    };
    html.raw("<section class=\"failure\" aria-labelledby=\"failure\"><h2 id=\"failure\">What to do</h2><p>")
        .prose(&failure.help)
        .raw("</p>");
    if let Some(traceback) = &failure.traceback {
        html.raw("<details open><summary>End of the traceback</summary><pre tabindex=\"0\">")
            .text(traceback)
            .raw("</pre></details>");
    }
    html.raw("</section>");
    html
}

/// The plot's twin.
fn statistics(view: &JobView) -> Html {
    let mut html = Html::new();
    if view.variants.iter().all(|row| row.stats.is_none()) {
        return html;
    }
    html.raw(
        "<details><summary>The plot as a table</summary><div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Statistics\">\
         <table><thead><tr><th scope=\"col\">Milliseconds per call</th><th scope=\"col\">Samples</th><th scope=\"col\">Min</th>\
         <th scope=\"col\">5 %</th><th scope=\"col\">20 %</th><th scope=\"col\">Median</th><th scope=\"col\">Mean</th>\
         <th scope=\"col\">80 %</th><th scope=\"col\">95 %</th><th scope=\"col\">Max</th></tr></thead><tbody>",
    );
    for row in &view.variants {
        let Some(stats) = &row.stats else { continue };
        html.raw("<tr><th scope=\"row\">")
            .text(view.label(&row.variant))
            .raw("</th><td class=\"number\">")
            .number(stats.n)
            .raw("</td>");
        for ms in [
            stats.min,
            stats.p5,
            stats.p20,
            stats.median,
            stats.mean,
            stats.p80,
            stats.p95,
            stats.max,
        ] {
            html.raw("<td class=\"number\">")
                .text(&number(ms))
                .raw("</td>");
        }
        html.raw("</tr>");
    }
    html.raw("</tbody></table></div></details>");
    html
}

fn conditions_list(view: &JobView) -> Html {
    let mut html = Html::new();
    let Some(environment) = &view.environment else {
        return html;
    };
    html.raw("<section aria-labelledby=\"conditions\"><h2 id=\"conditions\">Conditions</h2><dl class=\"facts\">");
    for (name, value) in conditions(view) {
        html.raw("<div><dt>")
            .text(name)
            .raw("</dt><dd>")
            .text(&value)
            .raw("</dd></div>");
    }
    html.raw("</dl>");
    if !environment.audit.is_empty() {
        html.raw("<details><summary>Settings of this host that cost time: ")
            .number(environment.audit.len())
            .raw("</summary><dl class=\"facts\">");
        for advice in &environment.audit {
            html.raw("<div><dt><code>")
                .text(&advice.setting)
                .raw("</code></dt><dd>Found: ")
                .text(&advice.found)
                .raw(". ")
                .prose(&advice.why)
                .raw(" <code>")
                .text(&advice.command)
                .raw("</code></dd></div>");
        }
        html.raw("</dl></details>");
    }
    html.raw("</section>");
    html
}

fn output(view: &JobView) -> Html {
    let mut html = Html::new();
    if view.log.is_empty() {
        return html;
    }
    html.raw("<section aria-labelledby=\"output\"><h2 id=\"output\">Output</h2><pre class=\"log\" tabindex=\"0\">");
    for (stream, text) in &view.log {
        html.raw(match stream {
            LogStream::Stdout => "<span>",
            LogStream::Stderr => "<span class=\"stderr\">",
            LogStream::Runner => "<span class=\"runner\">",
        })
        .text(text)
        .raw("</span>");
    }
    html.raw("</pre></section>");
    html
}
