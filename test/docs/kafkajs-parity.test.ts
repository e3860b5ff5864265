import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const kafkaJs = join(createRequire(import.meta.url).resolve('kafkajs/package.json'), '../types/index.d.ts');
const types = readFileSync(kafkaJs, 'utf8');
const page = readFileSync(new URL('../../docs/kafkajs-parity.md', import.meta.url), 'utf8');

/** The names of an interface's or object type's own members. */
function membersOf(name: string): string[] {
  const declared = new RegExp(`(?:interface ${name}(?: extends [^{]+)?|type ${name} = (?:\\w+ & )?)\\s*\\{\\n`).exec(
    types,
  );
  if (declared === null) throw new Error(`KafkaJS has no ${name}`);
  const body = types.slice(declared.index + declared[0].length);
  const members = body.slice(0, body.search(/^\}/m)).matchAll(/^ {2}(?:readonly )?(\w+)\??[(:]/gm);
  return [...new Set([...members].map((found) => found[1]!))];
}

/** A section's rows: KafkaJS's words, what became of them, and why. */
function rowsOf(heading: string): string[][] {
  const section = page.split(/^## /m).find((text) => text.startsWith(`${heading}\n`));
  const lines = section!.split('\n').filter((line) => line.startsWith('|'));
  return lines.slice(2).map((line) =>
    line
      .replaceAll('\\|', '/')
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

const PARTS: Readonly<Record<string, readonly string[]>> = {
  Client: ['KafkaConfig', 'RetryOptions'],
  Producer: ['ProducerConfig', 'ProducerRecord', 'ProducerBatch', 'Message', 'Producer'],
  Consumer: ['ConsumerConfig', 'ConsumerRunConfig', 'Consumer'],
  Admin: ['AdminConfig', 'ITopicConfig', 'Admin'],
};

describe.each(Object.entries(PARTS))('the table of the %s', (heading, declared) => {
  const rows = rowsOf(heading);

  it('has every option and method that KafkaJS declares', () => {
    const told = rows.map(([words]) => words).join(' ');
    const names = declared.flatMap(membersOf);
    expect(names.length).toBeGreaterThan(10);
    expect(names.filter((name) => !new RegExp(`\\b${name}\\b`).test(told))).toEqual([]);
  });

  it('says of each what became of it, and why or what instead', () => {
    for (const [words, became, how] of rows) {
      expect(['supported', 'renamed', 'refused', 'new'], words).toContain(became);
      if (became !== 'supported') expect(how, words).not.toBe('');
    }
  });
});
