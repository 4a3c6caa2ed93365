// A client whose types are generated from the server's OpenAPI document. Compiled and run by openapi.test.mjs.

import createClient from 'openapi-fetch';
import type { components, paths } from './schema';

type Event = components['schemas']['Event'];

const SNIPPET = `
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return x * 2 + 1
def get_inputs():
    return [torch.ones(64, 64)]
def get_init_inputs():
    return []
`;

/** The result of a job, collected from its events. */
interface Followed {
  kinds: string[];
  events: Event[];
  summary?: string;
  median?: number;
}

/** One step for each kind of event. A kind that the document lacks, or one more, does not compile. */
function handle(event: Event, job: Followed): void {
  job.kinds.push(event.type);
  job.events.push(event);
  switch (event.type) {
    case 'queued':
      if (event.position < 0) throw new Error('a position is not negative');
      break;
    case 'leased':
      if (event.device.id !== 'cpu') throw new Error(`leased ${event.device.name}`);
      break;
    case 'variant_done':
      if (event.variant === 'eager') job.median = event.stats.median;
      break;
    case 'verdict':
      job.summary = event.summary;
      break;
    case 'failed':
      throw new Error(`${event.code}: ${event.message}`);
    case 'log':
      console.error(`${event.stream}: ${event.text}`);
      break;
    case 'awaiting_approval':
    case 'approved':
    case 'environment':
    case 'variants':
    case 'step':
    case 'unavailable':
    case 'precision':
    case 'roofline':
    case 'compile':
    case 'warning':
    case 'hot':
    case 'samples':
    case 'done':
    case 'cancelled':
      break;
    default: {
      const missing: never = event;
      throw new Error(`not handled: ${JSON.stringify(missing)}`);
    }
  }
}

/** Submits jobs to the server at `url` with generated types: one that runs to its end, and one that is cancelled. */
export async function run(url: string): Promise<{ finished: Followed; cancelled: Followed; unknownVariant: string }> {
  const api = createClient<paths>({ baseUrl: url });

  const submit = async (code: string): Promise<string> => {
    const { data, error } = await api.POST('/api/v1/jobs', {
      body: { code, title: 'generated client', device: 'cpu', variants: ['eager'] },
    });
    if (error) throw new Error(`${error.code}: ${error.detail}`);
    return data.id;
  };

  const follow = async (id: string, onEvent: (event: Event) => Promise<void>): Promise<Followed> => {
    const job: Followed = { kinds: [], events: [] };
    const { data, error } = await api.GET('/api/v1/jobs/{id}/events', {
      params: { path: { id }, query: { after: 0 } },
      parseAs: 'stream',
    });
    if (error || !data) throw new Error('there is no stream of events');
    const decoder = new TextDecoder();
    let rest = '';
    for await (const bytes of data as unknown as AsyncIterable<Uint8Array>) {
      const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines.filter((line) => line.startsWith('data:'))) {
        const event = JSON.parse(line.slice('data:'.length)) as Event;
        handle(event, job);
        await onEvent(event);
      }
    }
    return job;
  };

  const finished = await follow(await submit(SNIPPET), async () => {});
  const id = await submit(`import time\ntime.sleep(600)\n${SNIPPET}`);
  const cancelled = await follow(id, async (event) => {
    if (event.type !== 'leased') return;
    const { data } = await api.DELETE('/api/v1/jobs/{id}', { params: { path: { id } } });
    if (data?.state !== 'cancelled') throw new Error(`the job is ${data?.state}`);
  });

  const refused = await api.POST('/api/v1/jobs', { body: { code: SNIPPET, variants: ['no-such-variant'] } });
  return { finished, cancelled, unknownVariant: refused.error?.code ?? 'accepted' };
}
