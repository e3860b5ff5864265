import { describe, expect, it } from 'vitest';
import { type MayGoOn, type Task, takeTurns } from '../../../shared/operations/take-turns.ts';

/** Deletes `items`, ten in a step, and notes each. */
function taskOf(name: string, items: number, steps: string[], sideBySide = 1): Task {
  let left = items;
  const worker = async (mayGoOn: MayGoOn) => {
    while (left > 0) {
      if (!(await mayGoOn(10))) return;
      left -= 10;
      steps.push(name);
      await undefined;
    }
  };
  return async (mayGoOn) => {
    await Promise.all(Array.from({ length: sideBySide }, () => worker(mayGoOn)));
  };
}
/** Allows so many items. */
function budget(items: number): MayGoOn {
  let left = items;
  return async (some = 0) => {
    if (left <= 0) return false;
    left -= some;
    return true;
  };
}

describe('tasks that take turns', () => {
  it('work one after the other, each for a turn, until all are done', async () => {
    const steps: string[] = [];
    const tasks = [taskOf('a', 50, steps), taskOf('b', 20, steps), taskOf('c', 30, steps)];
    expect(await takeTurns(tasks, budget(1_000), 20)).toEqual([]);
    expect(steps.join('')).toBe('aabbccaaca');
  });

  it('come up all, however much one of them has to do, and end when there is no more to be had', async () => {
    const steps: string[] = [];
    const tasks = [taskOf('a', 1_000_000, steps, 4), taskOf('b', 20, steps), taskOf('c', 20, steps)];
    expect(await takeTurns(tasks, budget(500), 100)).toEqual([]);
    expect(steps.filter((step) => step === 'b')).toHaveLength(2);
    expect(steps.filter((step) => step === 'c')).toHaveLength(2);
    const before = steps.length;
    expect(before).toBeLessThanOrEqual(50);
    await new Promise((resolve) => setImmediate(resolve));
    expect(steps).toHaveLength(before); // nothing goes on behind the caller's back
  });

  it('keep nobody from working by failing', async () => {
    const steps: string[] = [];
    const failing: Task = async (mayGoOn) => {
      await mayGoOn();
      throw new Error('no');
    };
    const failures = await takeTurns([failing, taskOf('b', 40, steps), failing], budget(1_000), 20);
    expect(failures).toEqual([new Error('no'), new Error('no')]);
    expect(steps.join('')).toBe('bbbb');
  });

  it('do not even begin when nothing may be done', async () => {
    const steps: string[] = [];
    expect(await takeTurns([taskOf('a', 10, steps)], async () => false, 20)).toEqual([]);
    expect(steps).toEqual([]);
  });

  it('give a turn up for steps that delete nothing, too', async () => {
    const steps: string[] = [];
    const looking: Task = async (mayGoOn) => {
      for (let i = 0; i < 6; i++) if (await mayGoOn()) steps.push('l');
    };
    await takeTurns([looking, taskOf('b', 20, steps)], budget(1_000), 3);
    expect(steps.join('')).toBe('lllblllb');
  });
});
