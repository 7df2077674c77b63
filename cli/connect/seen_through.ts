import type { Connect } from "./world.ts";

/**
 * Wraps `connect` so that a command for several pools reaches all of them: once the command was sent to the first pool,
 * the process keeps running even if the reader of the process's output, such as `head`, exits.
 */
export function seenThrough(connect: Connect): Connect {
  return (terminal, options) => {
    const world = connect(terminal, options);
    return {
      ...world,
      engine: async () => {
        const engine = await world.engine();
        return {
          ...engine,
          send: (order) => {
            terminal.seeThrough?.();
            return engine.send(order);
          },
        };
      },
    };
  };
}
