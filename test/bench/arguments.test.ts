import { describe, expect, it } from 'vitest';
import { parseArguments } from '../../bench/arguments.ts';

describe('the command line of the bench', () => {
  it('asks for every section unless it names some', () => {
    expect(parseArguments([])).toEqual({
      letters: ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n', 'o'],
    });
    expect(parseArguments(['--only', 'c,a'])).toEqual({ letters: ['c', 'a'] });
    expect(parseArguments(['--help'])).toEqual({ help: true });
  });

  it.each([
    [['--only', 'a,x'], "There is no section 'x'"],
    [['--only', ''], "There is no section ''"],
    [['--fast'], "Unknown option '--fast'"],
    [['a'], "Unexpected argument 'a'"],
  ])('is refused when it says %j', (args, why) => {
    expect(parseArguments(args)).toEqual({ fault: expect.stringContaining(why) });
  });
});
