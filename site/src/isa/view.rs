//! What a source became: a table of figures, what was assumed, and the listings. Pure.

use super::listing::listing;
use super::{Answer, Failure, Kernel, Target};
use crate::html::Html;
use crate::job::{fixed, number};

/// A constant that is a number.
pub(super) fn constant(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 {
        fixed(value, 0)
    } else {
        number(value)
    }
}

/// The whole answer.
pub(crate) fn answer(answer: &Answer, source: &str) -> Html {
    let mut html = Html::new();
    html.raw("<p>Compiled with ")
        .text(&answer.compiler)
        .raw(" in ")
        .text(&number(answer.seconds * 1000.0))
        .raw(" ms.</p>");
    for target in &answer.targets {
        if let Some(failure) = &target.error {
            failed(&mut html, &target.arch, failure);
        }
    }
    if answer
        .targets
        .iter()
        .any(|target| !target.kernels.is_empty())
    {
        figures(&mut html, answer);
    }
    assumed(&mut html, answer);
    let mut open = true;
    for target in &answer.targets {
        if let Some(assembly) = &target.texts.amdgcn {
            html.raw(if open {
                "<details open><summary>"
            } else {
                "<details><summary>"
            })
            .text(&target.arch)
            .raw(": the instructions, each under the line of the source it came from</summary>")
            .html(&listing(assembly, &target.lines, source))
            .raw("</details>");
            open = false;
        }
    }
    html
}

fn failed(html: &mut Html, arch: &str, failure: &Failure) {
    html.raw("<section class=\"failure\"><h3>")
        .text(arch)
        .raw(": not compiled</h3><pre tabindex=\"0\">");
    if let Some(line) = failure.line {
        html.raw("Line ").number(line).raw(": ");
    }
    html.text(&failure.message)
        .raw("</pre><p>")
        .prose(&failure.help)
        .raw("</p></section>");
}

fn figures(html: &mut Html, answer: &Answer) {
    html.raw(
        "<table class=\"isa stack\"><thead><tr><th scope=\"col\">Kernel</th><th scope=\"col\">VGPR</th><th scope=\"col\">AGPR</th>\
         <th scope=\"col\">SGPR</th><th scope=\"col\">Spills</th><th scope=\"col\">LDS, bytes</th>\
         <th scope=\"col\">Waves on a compute unit</th><th scope=\"col\">Moves of one thread</th>\
         <th scope=\"col\">Instructions</th><th scope=\"col\">Time</th></tr></thead><tbody>",
    );
    for target in &answer.targets {
        for kernel in &target.kernels {
            row(html, target, kernel);
        }
    }
    html.raw("</tbody></table>");
}

fn row(
    html: &mut Html,
    target: &Target,
    Kernel {
        resources,
        occupancy,
    }: &Kernel,
) {
    html.raw("<tr><th scope=\"row\">")
        .text(&target.arch)
        .raw(" <code>")
        .text(&resources.name)
        .raw("</code></th>");
    for (open, count) in [
        ("<td class=\"number\" data-label=\"VGPR\">", resources.vgprs),
        ("<td class=\"number\" data-label=\"AGPR\">", resources.agprs),
        ("<td class=\"number\" data-label=\"SGPR\">", resources.sgprs),
    ] {
        html.raw(open).number(count).raw("</td>");
    }
    let spills = resources.vgpr_spills + resources.sgpr_spills;
    html.raw("<td data-label=\"Spills\">");
    if spills + resources.scratch_bytes == 0 {
        html.raw("none");
    } else {
        html.raw("<strong class=\"bad\">")
            .number(spills)
            .raw("</strong>, ")
            .number(resources.scratch_bytes)
            .raw(" bytes of scratch");
    }
    html.raw("</td><td class=\"number\" data-label=\"LDS, bytes\">")
        .number(resources.lds_bytes)
        .raw("</td><td data-label=\"Waves on a compute unit\">")
        .number(occupancy.waves_per_cu)
        .raw(", ")
        .number(occupancy.waves_per_simd)
        .raw(" a SIMD; limited by ")
        .text(&occupancy.limited_by)
        .raw("</td><td data-label=\"Moves of one thread\"><span>");
    for (at, access) in resources.memory.iter().enumerate() {
        html.raw(if at > 0 { "<br>" } else { "" })
            .number(access.count)
            .raw(" × ")
            .text(&access.kind)
            .raw(" of ")
            .number(access.bytes)
            .raw(" B");
    }
    html.raw("</span></td><td class=\"number\" data-label=\"Instructions\">")
        .number(resources.instructions);
    if resources.matrix_instructions > 0 {
        html.raw(", ")
            .number(resources.matrix_instructions)
            .raw(" of them matrix");
    }
    html.raw("</td><td class=\"number\" data-label=\"Time\">")
        .text(&number(target.seconds * 1000.0))
        .raw(" ms</td></tr>");
}

/// A Triton kernel's types and constants, and where each comes from.
fn assumed(html: &mut Html, answer: &Answer) {
    if answer.signature.is_empty() {
        return;
    }
    html.raw("<details><summary>Compiled for these arguments");
    if let Some(warps) = answer.num_warps {
        html.raw(" and ")
            .number(warps as usize)
            .raw(" wavefronts a workgroup");
    }
    if answer.signature.iter().any(|one| one.source == "guess") {
        html.raw("; some are guesses");
    }
    html.raw("</summary><ul>");
    for argument in &answer.signature {
        html.raw("<li><code>").text(&argument.name);
        match &argument.value {
            Some(value) => html.raw(" = ").text(&value.0),
            None => html.raw(": ").text(&argument.kind),
        };
        html.raw("</code> ").raw(match argument.source.as_str() {
            "request" => "as asked",
            "annotation" => "from the annotation",
            "default" => "the default",
            "autotune" => "from the first autotune configuration",
            _ => "a guess",
        });
        html.raw("</li>");
    }
    html.raw("</ul></details>");
}
