/** Tests of texts in a filter's language. They take time in proportion to the text, whatever the pattern. */
export type TextTest = (text: string) => boolean;

/** @param ignoreCase as `foldCase` does */
export function startsWith(prefix: string, ignoreCase: boolean): TextTest {
  if (!ignoreCase) return (text) => text.startsWith(prefix);
  const folded = foldCase(prefix);
  return (text) => foldCase(text.slice(0, folded.length)) === folded;
}

/** @param ignoreCase as `foldCase` does */
export function endsWith(suffix: string, ignoreCase: boolean): TextTest {
  if (!ignoreCase) return (text) => text.endsWith(suffix);
  const folded = foldCase(suffix);
  return (text) => folded === '' || foldCase(text.slice(-folded.length)) === folded;
}

export function equalsIgnoringCase(wanted: string): TextTest {
  const folded = foldCase(wanted);
  return (text) => text.length === folded.length && foldCase(text) === folded;
}

/**
 * Case folded character by character, each to one of the same length: a part of a text folds as it does within the
 * whole. A character whose lower case is longer (İ) is left as it is.
 */
function foldCase(text: string): string {
  if (/^[\0-\x7f]*$/.test(text)) return text.toLowerCase();
  return Array.from(text, (char) => {
    const lower = char.toLowerCase();
    return lower.length === char.length ? lower : char;
  }).join('');
}

/**
 * The literal pieces between the stars of a wildcard text; one more than there are stars. `\*` is a star, `\\` a
 * backslash.
 * @returns what is wrong with it, when something is
 */
export function parseWildcard(wildcard: string): { readonly pieces: readonly string[] } | { readonly wrong: string } {
  const pieces = [''];
  for (let i = 0; i < wildcard.length; i++) {
    const char = wildcard[i]!;
    if (char === '*') {
      if (wildcard[i - 1] === '*' && pieces.at(-1) === '') return { wrong: 'consecutive wildcards are not allowed' };
      pieces.push('');
    } else if (char === '\\') {
      const next = wildcard[++i];
      if (next !== '*' && next !== '\\') return { wrong: "a backslash must be followed by '*' or another backslash" };
      pieces[pieces.length - 1] += next;
    } else pieces[pieces.length - 1] += char;
  }
  return { pieces };
}

/**
 * Whether a text is these pieces in this order, with anything between them. The first place where a piece fits is as
 * good as any other, so there is no going back.
 */
export function hasPieces(pieces: readonly string[]): TextTest {
  const first = pieces[0]!;
  const last = pieces.at(-1)!;
  if (pieces.length === 1) return (text) => text === first;
  return (text) => {
    if (text.length < first.length + last.length || !text.startsWith(first) || !text.endsWith(last)) return false;
    let from = first.length;
    for (const piece of pieces.slice(1, -1)) {
      const found = text.indexOf(piece, from);
      if (found < 0) return false;
      from = found + piece.length;
    }
    return from <= text.length - last.length;
  };
}
