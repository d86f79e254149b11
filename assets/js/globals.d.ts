/* What the scripts of the page share, and what Dash and its components put into the page. Read by `deno check`
   only; no browser loads it. */

/** A number that may be unknown. */
type Quantity = number | null | undefined;
type Unit = "cores" | "bytes" | "bytes/s" | "watts" | "share" | "seconds" | "plain";
type Cell = string | number | null | undefined;
type Stretch = [from: number, to: number];

interface Format {
  known(value: unknown): value is number;
  number(value: Quantity, digits?: number): string;
  count(value: Quantity): string;
  cores(value: Quantity): string;
  bytes(value: Quantity): string;
  rate(value: Quantity): string;
  watts(value: Quantity): string;
  duration(value: Quantity): string;
  share(value: Quantity, digits?: number): string;
  change(value: Quantity, digits?: number): string;
  value(value: Quantity, unit: Unit): string;
  significant(value: Quantity): string;
  short(value: number): string;
  bytesUnit(value: number): [size: number, name: string];
  phaseName(phase: number, names?: Record<string, string>): string;
  phaseClass(phase: number): string;
}

/** The scripts by their subjects; each adds its own. */
interface PhaseDock {
  format: Format;
  csv: { cell(value: Cell): string; file(rows: Cell[][]): string };
  dom: {
    at(path: string): string;
    // deno-lint-ignore no-explicit-any
    closest(event: Event, selector: string): any;
    typing(event: Event): boolean;
    field(event: Event, id: string): HTMLInputElement | null;
    element(id: string): HTMLElement;
    find(within: ParentNode, selector: string): HTMLElement;
    all(selector: string): HTMLElement[];
    children(holder: Element): HTMLElement[];
  };
  figures: {
    timeTicks(start: number, end: number, about: number): { values: number[]; texts: string[] };
    clockText(moment: number, step: number): string;
    showRange(graph: PlotlyElement, range: Stretch): void;
    scheme(): "light" | "dark";
  };
  /** The Live page's three scripts share its state, which has too many shapes to be worth types. */
  // deno-lint-ignore no-explicit-any
  live: any;
}

/** A callback's own functions live under their namespace beside Dash's. */
interface DashClientside {
  no_update: unknown;
  set_props(id: string | Record<string, string>, props: Record<string, unknown>): void;
  callback_context: { triggered: { prop_id: string; value: unknown }[] };
  // deno-lint-ignore no-explicit-any
  [namespace: string]: any;
}

/** A figure as Plotly draws it: an element with its data. */
interface PlotlyElement extends HTMLElement {
  // deno-lint-ignore no-explicit-any
  layout: any;
  // deno-lint-ignore no-explicit-any
  data: any[];
  // deno-lint-ignore no-explicit-any
  on(event: string, listener: (event: any) => void): void;
  // deno-lint-ignore no-explicit-any
  _ev?: any;
  // deno-lint-ignore no-explicit-any
  _fullData?: any[];
}

/** Functions that the columns of tables and the options of selects name. */
// deno-lint-ignore no-explicit-any
type AgGridFunctions = Record<string, any>;

interface Window {
  phasedock: PhaseDock;
  dash_clientside: DashClientside;
  // deno-lint-ignore no-explicit-any
  dash_ag_grid: any;
  // deno-lint-ignore no-explicit-any
  dash_cytoscape: any;
  dashAgGridFunctions: AgGridFunctions;
  dashAgGridComponentFunctions: AgGridFunctions;
  dashMantineFunctions: AgGridFunctions;
  // deno-lint-ignore no-explicit-any
  Plotly: any;
}

// deno-lint-ignore no-explicit-any
declare const React: { createElement(kind: string, props: object | null, ...children: any[]): any };
// deno-lint-ignore no-explicit-any
declare const dagre: any;
