/** One template to be rendered. */
export interface TemplateRequest {
  /** Templates of one scope may influence each other, those of two never. */
  scope: string;
  /** The file it is for; error messages name it. */
  name: string;
  template: string;
  /** Named pieces that the template may include. */
  snippets: Record<string, string>;
  /** Plain JSON; the only thing a template can see. */
  data: unknown;
}

/** Turns template text into file text; where templates are written in another language, another engine plugs in. */
export interface TemplateEngine {
  /** Rejects with TemplateFault when the template is to blame, with another error when a new try may help. */
  render(request: TemplateRequest): Promise<string>;
  /** Ends what is kept alive between renders. */
  close(): Promise<void>;
}

/** The template itself is wrong, endless or greedy; the message reads on after `Cannot render file "x": `. */
export class TemplateFault extends Error {
  override readonly name = "TemplateFault";
}
