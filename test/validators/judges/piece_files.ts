import { dirname, join } from "node:path";
import type { Piece } from "../piece.ts";

/** Writes pieces as files into a temporary folder; disposing of this object deletes the folder. */
export class PieceFiles implements Disposable {
  readonly #folder = Deno.makeTempDirSync({ prefix: "ostler-pieces-" });
  readonly #pieces = new Map<string, Piece>();

  constructor(pieces: readonly Piece[]) {
    pieces.forEach((piece, index) => {
      // The copy keeps the whole path, because tools recognize a file by its name and folder.
      const file = join(this.#folder, String(index), piece.path);
      Deno.mkdirSync(dirname(file), { recursive: true });
      Deno.writeTextFileSync(file, piece.text);
      this.#pieces.set(file, piece);
    });
  }

  get files(): string[] {
    return [...this.#pieces.keys()];
  }

  /** Returns the piece that was written to `file`. */
  pieceOf(file: string): Piece {
    const piece = this.#pieces.get(file);
    if (piece === undefined) throw new Error(`Failed to find the piece of "${file}": it was not validated`);
    return piece;
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.#folder, { recursive: true });
  }
}
