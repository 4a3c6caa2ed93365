//! Figures: hand-written SVG files that are inlined into the page. They have no colours of their own; the style sheet
//! colours their classes for light, dark and print.

use super::Mistake;
use super::csv::Table;
use super::document::slug;
use super::source::Folder;
use crate::escape::escape;
use roxmltree::{Document, Node};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::fmt::Write;

/// Largest width of a view box, in pixels: the width of the column of text.
const MAX_WIDTH: f32 = 720.0;

const ELEMENTS: [&str; 11] = [
    "svg", "g", "text", "tspan", "rect", "line", "path", "circle", "ellipse", "polygon", "polyline",
];
const ATTRIBUTES: [&str; 19] = [
    "class",
    "transform",
    "x",
    "y",
    "x1",
    "y1",
    "x2",
    "y2",
    "cx",
    "cy",
    "r",
    "rx",
    "ry",
    "dx",
    "dy",
    "width",
    "height",
    "d",
    "points",
];
const CLASSES: [&str; 22] = [
    "a", "b", "c", "d", "off", "paper", "ink", "line", "line-a", "line-b", "line-c", "line-d",
    "dash", "thin", "arrow", "small", "strong", "mono", "mid", "end", "quiet", "on",
];

/// The body of a `figure` block.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FigureBody {
    file: String,
    title: String,
    conclusion: String,
    caption: String,
    table: Option<String>,
}

/// A figure with its text alternative.
#[derive(Clone, Debug)]
pub(crate) struct Figure {
    /// Description of the figure.
    pub(crate) title: String,
    /// The text alternative: what to conclude from the figure.
    pub(crate) conclusion: String,
    /// One sentence below the figure.
    pub(crate) caption: String,
    /// The complete `<svg>` element.
    pub(crate) svg: String,
    /// The numbers of the figure.
    pub(crate) table: Option<Table>,
}

impl FigureBody {
    pub(crate) fn read(self, folder: &Folder<'_>) -> Result<Figure, Mistake> {
        let source = folder.text(&self.file)?;
        let id = format!("figure-{}", slug(self.file.trim_end_matches(".svg")));
        let svg = inline_svg(source, &id, &self.title, &self.conclusion).map_err(|reason| {
            Mistake::Figure {
                file: self.file.clone(),
                reason,
            }
        })?;
        let table = match &self.table {
            Some(name) => Some(Table::parse(folder.text(name)?)),
            None => None,
        };
        Ok(Figure {
            title: self.title,
            conclusion: self.conclusion,
            caption: self.caption,
            svg,
            table,
        })
    }
}

/// The figure as an element of the page. Its ids begin with `id`.
fn inline_svg(source: &str, id: &str, title: &str, description: &str) -> Result<String, String> {
    let document = Document::parse(source).map_err(|error| error.to_string())?;
    let root = document.root_element();
    if root.tag_name().name() != "svg" {
        return Err("the root element must be `<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 …\">`".to_owned());
    }
    let view_box = root.attribute("viewBox").unwrap_or_default();
    let (width, height) = size(view_box).ok_or_else(|| {
        format!("viewBox must be `0 0 WIDTH HEIGHT` with a width of at most {MAX_WIDTH}, not `{view_box}`")
    })?;
    let mut arrows = BTreeSet::new();
    let mut inside = String::new();
    for child in root.children() {
        write_node(&mut inside, child, id, &mut arrows)?;
    }
    let mut markers = String::new();
    for color in arrows {
        // Writing into a string cannot fail.
        let _ = write!(
            markers,
            "<marker id=\"{id}-{color}\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"10\" markerHeight=\"10\" \
             markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path class=\"{color}\" d=\"M0 1 10 5 0 9z\"/></marker>"
        );
    }
    if !markers.is_empty() {
        markers = format!("<defs>{markers}</defs>");
    }
    Ok(format!(
        "<svg viewBox=\"{}\" width=\"{width}\" height=\"{height}\" role=\"img\" aria-labelledby=\"{id}-title {id}-desc\">\
         <title id=\"{id}-title\">{}</title><desc id=\"{id}-desc\">{}</desc>{markers}{inside}</svg>",
        escape(view_box),
        escape(title),
        escape(description)
    ))
}

/// Width and height of a view box that begins at 0 0.
fn size(view_box: &str) -> Option<(f32, f32)> {
    let numbers: Vec<f32> = view_box
        .split([' ', ','])
        .filter(|number| !number.is_empty())
        .map(|number| number.parse().ok())
        .collect::<Option<_>>()?;
    match numbers.as_slice() {
        [left, top, width, height]
            if *left == 0.0
                && *top == 0.0
                && (1.0..=MAX_WIDTH).contains(width)
                && *height >= 1.0 =>
        {
            Some((*width, *height))
        }
        _ => None,
    }
}

fn write_node(
    out: &mut String,
    node: Node<'_, '_>,
    id: &str,
    arrows: &mut BTreeSet<&'static str>,
) -> Result<(), String> {
    if node.is_text() {
        let text = node.text().unwrap_or_default();
        out.push_str(
            if text.trim().is_empty() { "" } else { text }
                .replace('&', "&amp;")
                .replace('<', "&lt;")
                .as_str(),
        );
        return Ok(());
    }
    if !node.is_element() {
        return Ok(());
    }
    let line = node.document().text_pos_at(node.range().start).row;
    let name = node.tag_name().name();
    if !ELEMENTS.contains(&name) {
        return Err(format!(
            "line {line}: <{name}> is not allowed; use {}",
            ELEMENTS.join(", ")
        ));
    }
    let _ = write!(out, "<{name}");
    for attribute in node.attributes() {
        let (key, value) = (attribute.name(), attribute.value());
        if !ATTRIBUTES.contains(&key) {
            return Err(format!(
                "line {line}: <{name}> may not have `{key}`; colours and sizes come from classes"
            ));
        }
        let _ = write!(out, " {key}=\"{}\"", escape(value));
    }
    let classes: Vec<&str> = node
        .attribute("class")
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    if let Some(unknown) = classes.iter().find(|class| !CLASSES.contains(class)) {
        return Err(format!(
            "line {line}: `{unknown}` is not a class of figures; use {}",
            CLASSES.join(", ")
        ));
    }
    if classes.contains(&"arrow") {
        let color = ["a", "b", "c", "d"]
            .into_iter()
            .find(|color| {
                classes
                    .iter()
                    .any(|class| class.strip_prefix("line-") == Some(color))
            })
            .unwrap_or("ink");
        arrows.insert(color);
        let _ = write!(out, " marker-end=\"url(#{id}-{color})\"");
    }
    out.push('>');
    for child in node.children() {
        write_node(out, child, id, arrows)?;
    }
    let _ = write!(out, "</{name}>");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(inside: &str) -> Result<String, String> {
        let source = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 320 80\">{inside}</svg>"
        );
        inline_svg(&source, "figure-x", "Title <a>", "Conclusion")
    }

    #[test]
    fn a_figure_is_an_image_with_a_title_and_a_description() {
        let svg = figure(
            "<rect class=\"a\" width=\"9\" height=\"9\"/>\n<text x=\"1\" y=\"9\">1 &lt; 2</text>",
        )
        .expect("valid");
        assert!(svg.starts_with("<svg viewBox=\"0 0 320 80\" width=\"320\" height=\"80\" role=\"img\" aria-labelledby=\"figure-x-title figure-x-desc\">"), "{svg}");
        assert!(
            svg.contains("<title id=\"figure-x-title\">Title &lt;a&gt;</title>"),
            "{svg}"
        );
        assert!(
            svg.contains("<text x=\"1\" y=\"9\">1 &lt; 2</text>"),
            "{svg}"
        );
        assert!(!svg.contains("<defs>"), "{svg}");
    }

    #[test]
    fn an_arrow_has_a_head_in_the_colour_of_its_line() {
        let svg =
            figure("<line class=\"line-b arrow\" x2=\"9\"/><path class=\"arrow\" d=\"M0 0h9\"/>")
                .expect("valid");
        assert!(svg.contains("marker-end=\"url(#figure-x-b)\""), "{svg}");
        assert!(svg.contains("<marker id=\"figure-x-ink\""), "{svg}");
    }

    #[test]
    fn an_error_names_the_line_and_the_element() {
        for (inside, reason) in [
            ("\n<style>text{}</style>", "line 2: <style> is not allowed"),
            ("<rect fill=\"red\"/>", "<rect> may not have `fill`"),
            ("<rect class=\"red\"/>", "`red` is not a class of figures"),
            ("<rect>", "expected 'rect' tag, not 'svg'"),
        ] {
            let error = figure(inside).expect_err(inside);
            assert!(error.contains(reason), "{error}");
        }
        let wide = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 900 80\"/>";
        let error = inline_svg(wide, "x", "", "").expect_err("too wide");
        assert!(error.contains("at most 720"), "{error}");
    }
}
