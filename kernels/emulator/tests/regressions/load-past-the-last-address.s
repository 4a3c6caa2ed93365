	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.text
	.globl	twice
twice:
	s_mov_b32 s8, -4
	s_mov_b32 s9, -1
	s_load_dwordx4 s[12:15], s[8:9], 0x0
	s_waitcnt lgkmcnt(0)
	s_load_dwordx2 s[0:1], s[0:1], 0x0
	v_lshlrev_b32_e32 v0, 2, v0
	s_waitcnt lgkmcnt(0)
	global_load_dword v1, v0, s[0:1]
	s_waitcnt vmcnt(0)
	v_add_f32_e32 v1, v1, v1
	global_store_dword v0, v1, s[0:1]
	s_endpgm
.Lfunc_end0:
	.amdhsa_kernel twice
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_float_denorm_mode_32 3
	.end_amdhsa_kernel
	.amdgpu_metadata
---
amdhsa.kernels:
  - .args:
      - .address_space:  global
        .offset:         0
        .size:           8
        .value_kind:     global_buffer
    .max_flat_workgroup_size: 256
    .name:           twice
    .symbol:         twice.kd
...
	.end_amdgpu_metadata
