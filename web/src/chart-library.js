// The parts of Apache ECharts that rrul's charts use, and no others: what is not imported here costs neither start-up
// time nor size. A chart that needs another series or component adds it to this list.
import { LineChart, ScatterChart } from "echarts/charts";
import { GraphicComponent, GridComponent, LegendPlainComponent } from "echarts/components";
import { init, setPlatformAPI, use } from "echarts/core";
import { SVGRenderer } from "echarts/renderers";

use([
  LineChart,
  ScatterChart,
  GraphicComponent,
  GridComponent,
  LegendPlainComponent,
  SVGRenderer,
]);

export { init, setPlatformAPI };
