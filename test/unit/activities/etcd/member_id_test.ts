import { equal } from "node:assert/strict";
import { decimalOf, hexOf } from "../../../../activities/etcd/member_id.ts";

Deno.test("member ID: keeps all 64 bits in both notations", () => {
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

Deno.test("member ID: refuses what is not an ID of 64 bits", () => {
  for (const text of ["18446744073709551616", "-1", "", "1.5", "1e3", "0x1", " 1", "01", "99999999999999999999"]) {
    equal(hexOf(text), undefined, text);
  }
  for (const text of ["", "g", "FF", "0x1", "-1", "10000000000000000"]) equal(decimalOf(text), undefined, text);
});
