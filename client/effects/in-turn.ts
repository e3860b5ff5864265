/** Does what concerns one thing one after the other, in the order in which it was asked for; other things go on beside it. */
export type InTurn = <T>(name: string, act: () => Promise<T>) => Promise<T>;

export function newTurns(): InTurn {
  const turns = new Map<string, Promise<unknown>>();
  return async (name, act) => {
    const before = turns.get(name);
    const turn = (before ?? Promise.resolve()).then(act, act);
    turns.set(name, turn);
    try {
      return await turn;
    } finally {
      if (turns.get(name) === turn) turns.delete(name);
    }
  };
}
