//! Named parts of a page that the server fills and the browser fills again when something
//! changes: `<div data-region="findings">…</div>`.

use crate::html::Html;

/// A part of a page and what belongs into it now.
pub(crate) struct Region {
    pub(crate) name: &'static str,
    pub(crate) html: Html,
}

/// The regions with their elements around them, as the server writes them.
#[cfg(feature = "ssr")]
pub(crate) fn render(regions: &[Region]) -> String {
    let mut html = Html::new();
    for region in regions {
        html.raw("<div data-region=\"")
            .raw(region.name)
            // A screen reader speaks what comes into an element that was there before.
            .raw(if region.name == "state" {
                "\" role=\"status\">"
            } else {
                "\">"
            })
            .html(&region.html)
            .raw("</div>\n");
    }
    html.as_str().to_owned()
}

/// Fills regions in the browser, each only when it changed, so that what a reader selected,
/// opened or scrolled elsewhere stays.
#[derive(Default)]
pub(crate) struct Painter {
    painted: Vec<Html>,
}

impl Painter {
    pub(crate) fn paint(&mut self, regions: Vec<Region>) {
        for (at, region) in regions.into_iter().enumerate() {
            if self.painted.get(at) == Some(&region.html) {
                continue;
            }
            crate::browser::fill(region.name, region.html.as_str());
            if at < self.painted.len() {
                self.painted[at] = region.html;
            } else {
                self.painted.push(region.html);
            }
        }
    }
}
