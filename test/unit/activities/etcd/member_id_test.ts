import { equal } from "node:assert/strict";
import { decimalOf, hexOf } from "../../../../activities/etcd/member_id.ts";

Deno.test("an id keeps all of its 64 bits in both spellings", () => {
  for (
    const [decimal, hex] of [
      ["15311143440268214868", "d47c1bd6463d4254"],
      ["18446744073709551615", "ffffffffffffffff"],
      ["9007199254740993", "20000000000001"],
      ["77", "4d"],
      ["0", "0"],
    ] as const
  ) {
    equal(hexOf(decimal), hex);
    equal(decimalOf(hex), decimal);
  }
});

Deno.test("what is no id of 64 bits is none", () => {
  for (const text of ["18446744073709551616", "-1", "", "1.5", "1e3", "0x1", " 1", "01", "99999999999999999999"]) {
    equal(hexOf(text), undefined, text);
  }
  for (const text of ["", "g", "FF", "0x1", "-1", "10000000000000000"]) equal(decimalOf(text), undefined, text);
});
