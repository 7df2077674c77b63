/** The templates of one phase. */
export interface TemplateRequest {
  /** Templates of one scope may influence each other, those of two never. */
  scope: string;
  files: { path: string; template: string }[];
  /** Named pieces that every file may include. */
  snippets: Record<string, string>;
  /** Plain JSON; the only thing a template can see. */
  data: unknown;
}

/** Turns template texts into file texts; where templates are written in another language, another engine plugs in. */
export interface TemplateEngine {
  /**
   * Gives one text per file, in their order.
   * Rejects with TemplateFault when a template is to blame, with the signal's reason as soon as that aborts, and with
   * another error when a new try may help.
   */
  render(request: TemplateRequest, signal?: AbortSignal): Promise<string[]>;
  /** Ends what is kept alive between renders. */
  close(): Promise<void>;
}

/** A template is wrong, endless or greedy; the message reads on after `Cannot render file "x": `. */
export class TemplateFault extends Error {
  override readonly name = "TemplateFault";

  /** `file` is missing where no single file is to blame. */
  constructor(message: string, readonly file?: string) {
    super(message);
  }
}

/** Templates that had to be stopped, as they were endless or took too much: rendering them again only takes as long again. */
export class RunawayFault extends TemplateFault {}
