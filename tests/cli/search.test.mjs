// Queries and the page that must rank first, in the index that `hipward build` writes, with the search code of the
// browser.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { hipward, root } from '../support/server.mjs';

const folder = mkdtempSync(join(tmpdir(), 'hipward-search-'));
let search;
before(async () => {
  execFileSync(hipward, ['build', '--out', join(folder, 'site')]);
  const { buildIndex } = await import(join(root, 'site/js/search-index.js'));
  search = buildIndex(JSON.parse(readFileSync(join(folder, 'site/search.json'), 'utf8')));
});
after(() => rmSync(folder, { recursive: true, force: true }));

const expectedFirst = {
  // Names.
  pynvml: '/rules/pynvml/',
  HW101: '/rules/pynvml/',
  rmsnorm: '/ops/rmsnorm/',
  rope: '/ops/rope/',
  'cross entropy': '/ops/cross_entropy/',
  isa: '/isa/',
  playground: '/playground/',
  benchmark: '/benchmark/',
  models: '/models/',
  'honest timing': '/learn/baseline/honest-timing/',
  apex: '/rules/apex/',
  'nvidia-smi': '/rules/nvidia-smi/',
  tensorrt: '/rules/tensorrt/',
  cupy: '/rules/cupy/',
  bitsandbytes: '/rules/bitsandbytes/',
  tf32: '/rules/tf32/',
  // Variables, options and code.
  CUDA_LAUNCH_BLOCKING: '/rules/cuda-launch-blocking/',
  'PYTORCH_CUDA_ALLOC_CONF=expandable_segments': '/rules/cuda-alloc-conf/',
  'reduce-overhead': '/learn/optimize/graphs/',
  'num_warps triton': '/rules/triton-num-warps/',
  'nvcc flags': '/rules/nvcc-flags/',
  'cmake cuda architectures': '/rules/cmake-cuda-architectures/',
  'dockerfile base image': '/rules/nvidia-base-image/',
  // Questions, and more than one word.
  'what is the device name on AMD': '/rules/device-name/',
  'infinity cache flush': '/learn/baseline/cold-hot-and-how-sure/',
  'inline ptx in triton': '/rules/triton-inline-ptx/',
  'machine code registers': '/isa/',
  'cooperative groups': '/rules/cooperative-groups/',
  // Other words for a thing.
  ddp: '/learn/prove/several-gpus/',
  mi300: '/reference/hardware/',
  // Typos.
  pynvlm: '/rules/pynvml/',
  bitsandbites: '/rules/bitsandbytes/',
  // What people search for while porting.
  'how to install pytorch rocm': '/learn/how-to/install-pytorch/',
  'install pytorch': '/learn/how-to/install-pytorch/',
  'multi gpu': '/learn/prove/several-gpus/',
  'out of memory': '/learn/how-to/debug/',
  'torch.OutOfMemoryError: HIP out of memory': '/learn/how-to/debug/',
  profiler: '/learn/how-to/profile/',
  rocprofv3: '/learn/how-to/profile/',
  'graph breaks': '/learn/optimize/graph-breaks/',
  'graph break .item()': '/learn/optimize/graph-breaks/',
  fp8: '/learn/optimize/eight-bits/',
  e4m3fnuz: '/learn/optimize/eight-bits/',
  hipify: '/learn/port/hipify/',
  'flash attention': '/learn/port/attention-anywhere/',
  flash_attn: '/rules/flash-attn/',
  'flsh attention': '/learn/port/attention-anywhere/',
  'warp size': '/learn/port/lanes/',
  __shfl_sync: '/learn/port/lanes/',
  'kv cache': '/learn/optimize/attention-masks/',
  gqa: '/learn/optimize/attention-masks/',
  nan: '/learn/how-to/debug/',
  occupancy: '/learn/optimize/wavefronts-and-loads/',
  spills: '/learn/optimize/wavefronts-and-loads/',
  'torch.compile': '/learn/optimize/torch-compile/',
  'max-autotune': '/learn/optimize/compile-options/',
  'cuda graphs': '/learn/optimize/graphs/',
  hipblaslt: '/learn/optimize/which-library/',
  tunableop: '/learn/how-to/tune-gemms/',
  aiter: '/learn/how-to/aiter/',
  docker: '/learn/port/right-pytorch/',
  'hugging face': '/learn/how-to/hugging-face/',
  vllm: '/learn/how-to/hugging-face/',
  roofline: '/learn/baseline/roofline/',
  ci: '/learn/team/keep-it-ported/',
  'pre-commit': '/learn/team/keep-it-ported/',
  ablation: '/learn/prove/ablation/',
  regression: '/learn/prove/regression-gate/',
  wavefront: '/learn/optimize/wavefronts-and-loads/',
  glossary: '/reference/glossary/',
  get_device_capability: '/rules/capability-gate/',
  'python 3.10': '/learn/how-to/python-310/',
  tomllib: '/rules/tomllib/',
  systemd: '/learn/how-to/share-gpu-host/',
  'nginx token': '/learn/how-to/share-gpu-host/',
  'preshuffled weights': '/learn/optimize/preshuffle/',
  'custom rules': '/learn/team/rules-of-your-own/',
  'environment variables': '/reference/environment/',
  libraries: '/reference/libraries/',
  amdahl: '/learn/optimize/ladder/',
  AMD_SERIALIZE_KERNEL: '/learn/how-to/debug/',
  'CUDA error: invalid device function': '/learn/how-to/debug/',
  tinyllama: '/learn/case-study/baseline-profile/',
  tiny_llama_v2: '/learn/case-study/baseline-profile/',
  'batch size': '/learn/case-study/batch-length-precision/',
  compare_versions: '/learn/case-study/everything/',
  'cold and hot': '/learn/baseline/cold-hot-and-how-sure/',
};

for (const [query, address] of Object.entries(expectedFirst)) {
  test(`"${query}" finds ${address} first`, () => {
    const { complete, answers } = search(query);
    assert.ok(complete, 'a page has every word');
    assert.equal(answers[0].page.address, address, answers.slice(0, 4).map(({ page }) => page.address).join(' '));
  });
}

test('pages with some of the words are found if none has all', () => {
  const { complete, answers } = search('RuntimeError: miopenStatusUnknownError at the second convolution');
  assert.equal(complete, false);
  assert.ok(answers.length > 0);
});

test('unknown word has no results', () => {
  assert.deepEqual(search('zzzzqqqq').answers, []);
});

test('results link to headings that exist', () => {
  const { pages } = JSON.parse(readFileSync(join(folder, 'site/search.json'), 'utf8'));
  const headings = new Set(pages.flatMap((page) => page.sections.map(([heading]) => heading)).filter(Boolean));
  const linked = new Set();
  for (const heading of headings) {
    for (const { page, section } of search(heading).answers) if (section.id) linked.add(`${page.address}#${section.id}`);
  }
  assert.ok(linked.size > headings.size / 2);
  const html = (address) => readFileSync(join(folder, 'site', address, 'index.html'), 'utf8');
  const missing = [...linked].filter((link) => {
    const [address, id] = link.split('#');
    return !html(address).includes(`id="${id}"`);
  });
  assert.deepEqual(missing, []);
});
