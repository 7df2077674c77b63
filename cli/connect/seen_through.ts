import type { Connect } from "./world.ts";

/** A world in which a command that has been sent is seen through to its last pool, also when nobody reads on. */
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
