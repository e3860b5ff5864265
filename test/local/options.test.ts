import { describe, expect, it } from 'vitest';
import { HELP, parseOptions } from '../../local/options.ts';

describe('the command line of npm start', () => {
  it('may be empty', () => {
    expect(parseOptions([])).toEqual({
      start: { port: 4100, data: '.vertebra', reset: false, logLevel: 'error', auth: 'none', assembly: null },
    });
  });

  it('says port, folder, reset, log level and how callers are known', () => {
    const args = ['--port', '0', '--data=/tmp/data', '--reset', '--log-level', 'debug', '--auth', 'apiKey'];
    expect(parseOptions(args)).toEqual({
      start: { port: 0, data: '/tmp/data', reset: true, logLevel: 'debug', auth: 'apiKey', assembly: null },
    });
  });

  it('keeps nothing with --memory', () => {
    expect(parseOptions(['--memory'])).toMatchObject({ start: { data: null } });
  });

  it('names an assembly, which is kept in memory unless there is a folder for its data', () => {
    expect(parseOptions(['--assembly', 'cdk.out'])).toMatchObject({ start: { assembly: 'cdk.out', data: null } });
    const args = ['--assembly', 'cdk.out', '--data', 'kept'];
    expect(parseOptions(args)).toMatchObject({ start: { assembly: 'cdk.out', data: 'kept' } });
  });

  it('may ask for a text instead', () => {
    expect(parseOptions(['--help'])).toEqual({ print: 'help' });
    expect(parseOptions(['-h', '--version'])).toEqual({ print: 'help' });
    expect(parseOptions(['--version'])).toEqual({ print: 'version' });
  });

  it.each([
    [['--prot', '1'], "Unknown option '--prot'"],
    [['4100'], "Unexpected argument '4100'"],
    [['--port'], "Option '--port <value>' argument missing"],
    [['--port', '65536'], "--port must be 0 to 65535, not '65536'"],
    [['--port', '4e3'], "--port must be 0 to 65535, not '4e3'"],
    [['--port='], "--port must be 0 to 65535, not ''"],
    [['--reset=yes'], "Option '--reset' does not take an argument"],
    [['--assembly', ''], '--assembly needs a folder'],
    [
      ['--assembly', 'cdk.out', '--auth', 'apiKey'],
      '--assembly and --auth exclude each other: the assembly says how callers are known',
    ],
    [['--auth', 'iam'], "--auth must be none or apiKey, not 'iam'"],
    [['--log-level', 'loud'], "--log-level must be one of debug, info, warn, error, silent, not 'loud'"],
    [['--data', ''], '--data needs a folder'],
    [['--memory', '--data', 'x'], '--memory and --data exclude each other'],
    [['--memory', '--reset'], '--memory and --reset exclude each other: nothing is kept in memory'],
  ])('is refused with exit code 2 when it is %j', (args, message) => {
    const hint = '. Options stand after two dashes, as in "npm start -- --port 0"; --help lists them.';
    expect(() => parseOptions(args)).toThrow(
      expect.objectContaining({ name: 'Refusal', exitCode: 2, message: message + hint }),
    );
  });

  it('has every option in its help', () => {
    const options = ['--port', '--data', '--memory', '--reset', '--auth', '--log-level', '--assembly', '--version'];
    for (const option of [...options, '--help']) {
      expect(HELP).toContain(`  ${option}`);
    }
  });
});
