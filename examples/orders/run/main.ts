import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { audit, summaryOf } from './audit.ts';
import { HELP, type Options, readOptions } from './options.ts';

// Before anything of the SDK is loaded: no advice about Node.js versions, no look for instance credentials.
process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED = 'true';
process.env.AWS_EC2_METADATA_DISABLED = 'true';
process.env.POWERTOOLS_METRICS_DISABLED = 'true';

/** How many of what is wrong are told. */
const TOLD_MAX = 20;

async function main(): Promise<number> {
  let options: Options | 'help';
  try {
    options = readOptions(process.argv.slice(2));
  } catch (error) {
    console.error(`orders: ${(error as Error).message}`);
    return 2;
  }
  if (options === 'help') {
    console.log(HELP);
    return 0;
  }
  const stopped = new AbortController();
  setMaxListeners(0, stopped.signal); // each customer waits by it
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stopped.abort());
  return run(options, stopped.signal);
}

async function run(options: Options, signal: AbortSignal): Promise<number> {
  const [{ openWorld }, { View }, { runStory }] = await Promise.all([
    import('./world.ts'),
    import('./view.ts'),
    import('./story.ts'),
  ]);
  const startedAt = Date.now();
  const world = await openWorld(options);
  const view = new View(world, process.stdout);
  try {
    view.say(
      `Try it: curl ${world.shopUrl}/orders/mine -X PUT -d '{"customer":"me","card":"4000-4242","lines":[{"sku":"cup","quantity":1}]}'`,
    );
    const books = await runStory(world, view, options, signal);
    const wrong = audit(books);
    if (options.stay) {
      view.say('Ctrl-C stops it.');
      await sleep(2 ** 31 - 1, undefined, { signal }).catch(() => {});
    }
    await view.close();
    for (const line of wrong.slice(0, TOLD_MAX)) console.log(`  ${line}`);
    const seconds = ((Date.now() - startedAt) / 1_000).toFixed(1);
    console.log(`${books.placed.size} orders: ${summaryOf(books)}; ${world.crashes.total} crashes; ${seconds} s`);
    console.log(`${wrong.length} violations`);
    return wrong.length === 0 ? 0 : 1;
  } catch (error) {
    if (!signal.aborted) throw error;
    console.log('Stopped.');
    return 130;
  } finally {
    await view.close();
    await world.close();
  }
}

// Functions that were cut off may still be at it.
process.exit(await main());
