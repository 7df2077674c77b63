import type { Connect } from "./world.ts";

/** Returns a world in which a command, once sent, reaches its last pool even when the reader of its output exits. */
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
