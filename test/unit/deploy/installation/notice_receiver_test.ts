import assert from "node:assert/strict";
import { NoticeReceiver, noticeTemplate } from "../../../../deploy/local/installation/notice_receiver.ts";

async function tell(url: string): Promise<number> {
  const response = await fetch(url, { method: "POST", body: noticeTemplate });
  await response.body?.cancel();
  return response.status;
}

Deno.test("NoticeReceiver: accepts notifications at one address, and after moveOn() only at another address", async () => {
  await using receiver = await NoticeReceiver.open("127.0.0.1");
  const { url: before } = receiver;
  assert.equal(await tell(before), 200);
  receiver.moveOn();
  assert.deepEqual([await tell(before), await tell(receiver.url)], [404, 200]);
  assert.deepEqual(receiver.told.map(({ id }) => id), ["{{id}}", "{{id}}"]);
});
