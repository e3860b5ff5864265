import { openBackboneServer } from '../local/backbone-server.ts';
import { answerParent } from './child.ts';

export interface ServerAnswer {
  readonly url: string;
}

let close = async () => {};

/** A whole backbone in memory, as `npm start` runs it. Asked once. */
answerParent(
  async () => {
    const server = await openBackboneServer({
      ...{ port: 0, onRecords: () => {}, onExchange: () => {} },
      onFailure: (name, error) => console.error(name, error),
    });
    close = () => server.close(0);
    return { url: server.url } satisfies ServerAnswer;
  },
  () => close(),
);
