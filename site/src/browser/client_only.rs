//! Views that only the browser renders.

use leptos::prelude::*;
use leptos::tachys::html::attribute::Attribute;
use leptos::tachys::html::attribute::any_attribute::AnyAttribute;
use leptos::tachys::hydration::Cursor;
use leptos::tachys::view::add_attr::AddAnyAttr;
use leptos::tachys::view::{Position, PositionState};

/// Erases the type of a view that is never in a page as the server sends it. Such a view is built but not hydrated, so its
/// code for hydration is left out of the module.
pub(crate) fn client_only(view: impl RenderHtml + 'static) -> AnyView {
    ClientOnly(view).into_any()
}

struct ClientOnly<V>(V);

impl<V: Render> Render for ClientOnly<V> {
    type State = V::State;

    fn build(self) -> Self::State {
        self.0.build()
    }

    fn rebuild(self, state: &mut Self::State) {
        self.0.rebuild(state);
    }
}

impl<V: RenderHtml + 'static> AddAnyAttr for ClientOnly<V> {
    type Output<NewAttr: Attribute> = Self;

    fn add_any_attr<NewAttr: Attribute>(self, _: NewAttr) -> Self::Output<NewAttr> {
        self
    }
}

impl<V: RenderHtml + 'static> RenderHtml for ClientOnly<V> {
    type AsyncOutput = Self;
    type Owned = Self;

    const MIN_LENGTH: usize = V::MIN_LENGTH;

    fn dry_resolve(&mut self) {
        self.0.dry_resolve();
    }

    async fn resolve(self) -> Self {
        self
    }

    fn to_html_with_buf(
        self,
        buffer: &mut String,
        position: &mut Position,
        escape: bool,
        mark_branches: bool,
        extra_attributes: Vec<AnyAttribute>,
    ) {
        self.0
            .to_html_with_buf(buffer, position, escape, mark_branches, extra_attributes);
    }

    fn hydrate<const FROM_SERVER: bool>(self, _: &Cursor, _: &PositionState) -> Self::State {
        self.build()
    }

    fn into_owned(self) -> Self {
        self
    }
}
