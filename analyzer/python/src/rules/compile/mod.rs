//! HW5: `torch.compile`.

pub mod compile_mode;
pub mod graph_break;
pub mod host_tensor_in_forward;
pub mod inductor_option;
pub mod recompile_limit;
pub mod shape_loop;
pub mod sync_in_forward;
pub mod while_in_forward;

rules! {
    compile_mode,
    recompile_limit,
    while_in_forward,
    host_tensor_in_forward,
    sync_in_forward,
    graph_break,
    inductor_option,
    shape_loop,
}
