/** The process that renders Go templates: the first line has the program, each later line is a request to it. */
import { Buffer } from "node:buffer";
import { zstdDecompressSync } from "node:zlib";
import { answerLines } from "./child_lines.ts";
import { GoProgram } from "./go_program.ts";

/** Decompresses into one chunk, because several chunks would have to be copied together. */
const onePiece = { chunkSize: 16 * 1024 * 1024 };

let program: GoProgram | undefined;

answerLines((line) => {
  if (program !== undefined) return program.call(line);
  const { id, program: packed } = JSON.parse(line);
  program = new GoProgram(zstdDecompressSync(Buffer.from(packed, "base64"), onePiece));
  return JSON.stringify({ id, texts: [] });
});
