import type { ConnectOptions } from "../connect/world.ts";
import type { Format } from "../view/output.ts";

export interface ImageFlags extends ConnectOptions {
  output: Format;
  /** How long to wait for a verdict. */
  timeout: string;
}

/** The same about one image. */
export interface OneImageFlags extends ImageFlags {
  image: string;
}
