"""Forecasts of what a step does to a live group: the group is continued by the simulation, from its own bytes."""

from spark_sim.forecast.forecast import Forecast, Outcome, forecast
from spark_sim.forecast.observation import ContinuedGroup, ForecastError, observe
from spark_sim.forecast.operations import Operation, parse_operation

__all__ = [
    "ContinuedGroup",
    "Forecast",
    "ForecastError",
    "Operation",
    "Outcome",
    "forecast",
    "observe",
    "parse_operation",
]
