import type { ConnectOptions } from "../connect/world.ts";
import type { Format } from "../view/output.ts";

export interface ImageFlags extends ConnectOptions {
  output: Format;
  /** The longest wait for a result, as given. */
  timeout: string;
}

/** Flags of a command on one image. */
export interface OneImageFlags extends ImageFlags {
  image: string;
}
