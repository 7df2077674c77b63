/** The templates of one phase. */
export interface TemplateRequest {
  /** Templates of the same scope can influence each other; templates of different scopes cannot. */
  scope: string;
  files: { path: string; template: string }[];
  /** Named templates that every file can include. */
  snippets: Record<string, string>;
  /** Data of the templates in plain JSON, and the only thing that they can see. */
  data: unknown;
}

/** Renders templates into files; every template language has its own engine. */
export interface TemplateEngine {
  /**
   * Returns one text for each file, in their order.
   * Rejects with TemplateFault if a template is to blame, with the reason of the signal as soon as it aborts, and with
   * another error if a retry can help.
   */
  render(request: TemplateRequest, signal?: AbortSignal): Promise<string[]>;
  /** Ends the processes that stay alive between renders. */
  close(): Promise<void>;
}

/**
 * Thrown if a template is invalid or exceeds a limit; the message continues `Failed to render file "x": `, or without a
 * file `Failed to render the profile: `.
 */
export class TemplateFault extends Error {
  override readonly name = "TemplateFault";

  /** `file` is missing if no single file is to blame. */
  constructor(message: string, readonly file?: string) {
    super(message);
  }
}

/** Thrown if templates were stopped because they exceeded a limit; they would exceed the limit in every render. */
export class RunawayFault extends TemplateFault {}
