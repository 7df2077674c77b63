import type { Connect } from "./world.ts";

/** Returns worlds in which a command, once sent to one pool, reaches all even if the reader of its output exits. */
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
