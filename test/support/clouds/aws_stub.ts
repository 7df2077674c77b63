/**
 * The parts of AWS that the driver uses, over HTTP, with the simulated cloud as its state. Written from AWS's published
 * descriptions and not run against the real cloud. Where a description is unclear, the double takes the reading that is
 * worst for the driver.
 */
import type { GroupCloud } from "../../../deploy/local/cloud/groups/group_cloud.ts";
import type { Befalls } from "../driver_conformance.ts";
import { AwsEc2 } from "./aws_ec2.ts";
import { type AwsConditions, AwsGround } from "./aws_ground.ts";
import { type Api, AwsWrong, judge } from "./aws_requests.ts";
import { AwsScaling } from "./aws_scaling.ts";
import { answerXml, failureXml } from "./aws_xml.ts";
import { faultsOfAnswer, faultsOfRequest } from "./described/aws.ts";

/** Error codes with which AWS answers a valid request; any other error shows a bug of the driver. */
const outcomes = ["ValidationError", "IdempotentParameterMismatch", "InvalidInstanceID", "InvalidLaunchTemplateId"];

type Verb = (form: URLSearchParams) => object;

/** A server that answers like AWS; disposing of it fails if it got an invalid request. */
export class AwsStub implements AsyncDisposable {
  /** Actions in the order of the requests. */
  readonly calls: string[] = [];
  readonly ground: AwsGround;
  /** Returns the fault of the nth call, counted from 1. */
  fault: (nth: number, action: string) => Befalls | undefined = () => undefined;
  readonly #wrong: string[] = [];
  readonly #scaling: AwsScaling;
  readonly #ec2: AwsEc2;
  readonly #server: Deno.HttpServer<Deno.NetAddr>;

  constructor(cloud: GroupCloud, conditions: AwsConditions) {
    this.ground = new AwsGround(cloud, conditions);
    this.#scaling = new AwsScaling(this.ground);
    this.#ec2 = new AwsEc2(this.ground);
    const onError = (): Response => new Response(null, { status: 500 });
    const handler = (request: Request): Promise<Response> => this.#answer(request);
    this.#server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {}, onError }, handler);
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.addr.port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
    if (this.#wrong.length > 0) throw new Error(`AWS would refuse: ${this.#wrong.join("; ")}`);
  }

  async #answer(request: Request): Promise<Response> {
    const form = new URLSearchParams(await request.text());
    const action = form.get("Action") ?? "";
    this.calls.push(action);
    const fault = this.fault(this.calls.length, action);
    if (fault === "CutBefore") return cut();
    const api = this.#judged(form, request);
    if (api instanceof Response) return api;
    if (fault === "Throttled") {
      const [status, code] = api === "ec2" ? [503, "RequestLimitExceeded"] : [400, "Throttling"];
      return xml(status, failureXml(api, code, "Rate exceeded"));
    }
    if (fault === "Broken") return xml(500, failureXml(api, "InternalFailure", "it broke"));
    const { launchRefusal } = this.ground;
    if (launchRefusal && action === "LaunchInstances") {
      return xml(launchRefusal.status, failureXml(api, launchRefusal.code, "it is refused"));
    }
    const answer = this.#do(api, action, form);
    return fault === "CutAfter" ? cut() : answer;
  }

  #judged(form: URLSearchParams, request: Request): Api | Response {
    try {
      const api = judge(form, request.headers.get("authorization") ?? "");
      this.#wrong.push(...faultsOfRequest(api, form));
      return api;
    } catch (error) {
      if (!(error instanceof AwsWrong)) throw error;
      this.#wrong.push(error.message);
      return xml(400, failureXml("ec2", error.code, error.message));
    }
  }

  #do(api: Api, action: string, form: URLSearchParams): Response {
    const verbs = (api === "ec2" ? this.#ec2 : this.#scaling) as unknown as Record<string, Verb>;
    try {
      const answer = verbs[action]?.(form) ?? {};
      this.#wrong.push(...faultsOfAnswer(api, action, answer).map((fault) => `wrong answer of the double: ${fault}`));
      return xml(200, answerXml(api, action, answer));
    } catch (error) {
      if (!(error instanceof AwsWrong)) throw error;
      if (!outcomes.some((each) => error.code.startsWith(each))) this.#wrong.push(error.message);
      return xml(400, failureXml(api, error.code, error.message));
    }
  }
}

function xml(status: number, body: string): Response {
  return new Response(body, { status, headers: { "content-type": "text/xml", connection: "close" } });
}

/** An interrupted body, so that the client sees its connection end. */
function cut(): Response {
  const body = new ReadableStream({ start: (stream) => stream.error(new Error("cut off")) });
  return new Response(body, { headers: { "content-length": "1000", connection: "close" } });
}
