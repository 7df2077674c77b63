import { Eta } from "eta/core";
const eta = new Eta({autoEscape:false});
const r = (f: () => unknown) => { try { return String(f()); } catch (e) { return String(e); } };
console.log(eta.renderString("hi <%= it.x %>", {x:1}));
console.log(r(()=>Deno.readTextFileSync("/etc/hostname")), r(()=>Deno.env.toObject()), r(()=>Deno.readTextFileSync(import.meta.filename!)));
console.log(r(()=>new Deno.Command("ls").outputSync()), Deno.execPath && r(()=>Deno.execPath()), r(() => Deno.hostname()));
console.log(Object.keys(Deno).join(" "));
try { await fetch("http://127.0.0.1:1"); } catch (e) { console.log(String(e)); }
try { const m = await import("node:fs"); console.log(r(()=>m.readFileSync("/etc/passwd"))); } catch (e) { console.log(String(e)); }
try { new Worker("data:application/javascript,console.log(1)", {type:"module"}); console.log("worker ok") } catch (e) { console.log(String(e)); }
