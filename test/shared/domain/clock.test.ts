import { describe, expect, it } from 'vitest';
import { CorrectedClock, WriterClock } from '../../../shared/domain/clock.ts';
import { CLOCK_CORRECTION_MS_MAX } from '../../../shared/domain/limits.ts';

describe("a host's clock, set right by the service's answers", () => {
  it('is not moved by samples within their own error, so a second stays a second', () => {
    let sample = 0;
    let now = 1_000_000;
    const clock = new CorrectedClock({ now: () => now }, () => sample);
    const stamped = clock.now();
    for (sample of [-999, 0, -2_400, 12]) expect(clock.now()).toBe(stamped);
    now += 1_000;
    expect(clock.now() - stamped).toBe(1_000);
  });

  it('takes over what is really wrong, and then keeps to that', () => {
    let sample = -600_000;
    const clock = new CorrectedClock({ now: () => 1_000_000 }, () => sample);
    expect(clock.now()).toBe(400_000);
    sample = -600_900;
    expect(clock.now()).toBe(400_000);
    sample = 0;
    expect(clock.now()).toBe(1_000_000);
  });
});

describe("a writer's clock", () => {
  const host = { now: () => 1_000_000 };

  it('catches up with a settler who is ahead, and never goes back', () => {
    const clock = new WriterClock(host);
    clock.learn(1_003_000);
    expect(clock.now()).toBe(1_003_000);
    clock.learn(1_001_000);
    expect(clock.now()).toBe(1_003_000);
  });

  it('does not follow a settler whose clock is absurd', () => {
    const clock = new WriterClock(host);
    clock.learn(9_000_000_000_000);
    expect(clock.now()).toBe(1_000_000 + CLOCK_CORRECTION_MS_MAX);
  });
});
